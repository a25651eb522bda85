import type { ComponentChildren } from 'preact';

export interface ButtonProps {
  children?: ComponentChildren;
  label?: string; // for screen readers and as a tooltip, where the button shows only an icon
  kind?: 'plain' | 'primary' | 'danger' | '';
  pressed?: boolean;
  disabled?: boolean;
  type?: 'button' | 'submit';
  onClick?: (event: MouseEvent) => void;
}

export function Button({ children, label, kind = '', pressed, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      class={`button ${kind}`}
      aria-pressed={pressed}
      aria-label={label}
      title={label}
      {...rest}
    >
      {children}
    </button>
  );
}
