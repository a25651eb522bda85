export interface Tab {
  name: string;
  href: string;
  count?: number | undefined;
}

export function Tabs({ tabs, current, label }: { tabs: Tab[]; current: string; label: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <a key={tab.name} href={tab.href} aria-current={tab.name === current ? 'page' : undefined}>
          {tab.name}
          {tab.count !== undefined && <span class="faint"> {tab.count}</span>}
        </a>
      ))}
    </nav>
  );
}
