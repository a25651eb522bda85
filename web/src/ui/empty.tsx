import type { ComponentChildren } from 'preact';

interface Props {
  title: string;
  children?: ComponentChildren;
  command?: string; // what to type to fill the place
}

export function Empty({ title, children, command }: Props) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
      {command && <pre>{command}</pre>}
    </div>
  );
}
