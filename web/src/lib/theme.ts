import { computed, effect, signal } from '@preact/signals';

export type ThemeChoice = 'system' | 'light' | 'dark';

const STORED = 'kedge.theme';

function stored(): ThemeChoice {
  const value = localStorage.getItem(STORED);
  return value === 'light' || value === 'dark' ? value : 'system';
}

export const themeChoice = signal<ThemeChoice>(stored());

const media = matchMedia('(prefers-color-scheme: dark)');
const systemDark = signal(media.matches);
media.addEventListener('change', () => {
  systemDark.value = media.matches;
});

export const isDark = computed(() =>
  themeChoice.value === 'system' ? systemDark.value : themeChoice.value === 'dark',
);

effect(() => {
  document.documentElement.dataset['theme'] = isDark.value ? 'dark' : 'light';
  if (themeChoice.value === 'system') localStorage.removeItem(STORED);
  else localStorage.setItem(STORED, themeChoice.value);
});

export function toggleTheme(): void {
  themeChoice.value = isDark.value ? 'light' : 'dark';
}

/** The current value of a CSS custom property, for what is drawn on a canvas. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
