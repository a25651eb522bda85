// Line icons on a 16-unit grid, drawn for this page.
const PATHS = {
  anchor:
    'M8 4.4V14M5.3 6.8h5.4M2.3 9.2C2.7 12 5.1 14 8 14s5.3-2 5.7-4.8M8 4.4a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3Z',
  chevron: 'm6 4 4 4-4 4',
  down: 'm4 6 4 4 4-4',
  close: 'm4 4 8 8m0-8-8 8',
  check: 'm3 8.5 3.2 3L13 5',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9Zm3.3-1.2L14 14',
  columns: 'M2.5 3h11v10h-11zM6.5 3v10M10 3v10',
  group: 'M2.5 4h11M5 8h8.5M5 12h8.5',
  eye: 'M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8Zm6.5 1.8a1.8 1.8 0 1 0 0-3.6 1.8 1.8 0 0 0 0 3.6Z',
  full: 'M6 2.5H2.5V6M10 2.5h3.5V6M6 13.5H2.5V10M10 13.5h3.5V10',
  save: 'M8 2.5v7.5m-3-2.7L8 10.3l3-3M2.5 13.5h11',
  star: 'm8 2 1.8 3.8 4.2.6-3 2.9.7 4.2L8 11.5 4.3 13.5 5 9.3l-3-2.9 4.2-.6z',
  pin: 'M5.5 2.5h5l-.8 4.2 2.3 2.3H4l2.3-2.3zM8 9v4.8',
  moon: 'M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6Z',
  sun: 'M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM8 1.5V3M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1',
  split: 'M2.5 3h11v10h-11zM6.5 3v10',
  table: 'M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.7h11',
  chart: 'M2.5 2.5v11h11M4.5 10.5l3-3.5 2.2 2L13.5 4',
  link: 'M6.7 9.3a2.5 2.5 0 0 0 3.5 0l2.3-2.3A2.5 2.5 0 0 0 9 3.5l-.8.8M9.3 6.7a2.5 2.5 0 0 0-3.5 0L3.5 9A2.5 2.5 0 0 0 7 12.5l.8-.8',
  file: 'M4 1.8h5l3.5 3.5v9H4zM9 1.8v3.5h3.5',
  help: 'M5.9 6a2.1 2.1 0 1 1 3 1.9c-.6.3-.9.7-.9 1.5M8 12h.01',
  down_end: 'M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 14 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width={1.4}
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
