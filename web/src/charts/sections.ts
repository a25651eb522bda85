export interface Section {
  name: string;
  metrics: string[];
}

const FIRST = ['train', 'val', 'test', 'eval', ''];

/** "val/loss" belongs to section "val"; a name without a slash to "". */
export function sectionOf(metric: string): string {
  const slash = metric.indexOf('/');
  return slash > 0 ? metric.slice(0, slash) : '';
}

/** Words of `find` that all occur in the name; a text between slashes is a regular expression. */
export function matches(metric: string, find: string): boolean {
  const text = find.trim();
  const pattern = /^\/(.+)\/$/.exec(text)?.[1];
  if (pattern) {
    try {
      return new RegExp(pattern, 'i').test(metric);
    } catch {
      return false;
    }
  }
  const name = metric.toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => name.includes(word));
}

export function sectionsOf(metrics: readonly string[], find: string): Section[] {
  const sections = new Map<string, string[]>();
  for (const metric of metrics) {
    if (!matches(metric, find)) continue;
    const name = sectionOf(metric);
    sections.set(name, [...(sections.get(name) ?? []), metric]);
  }
  const rank = (name: string) => {
    const at = FIRST.indexOf(name);
    return at < 0 ? FIRST.length : at;
  };
  return [...sections]
    .map(([name, list]) => ({ name, metrics: list.sort(byName) }))
    .sort((a, b) => rank(a.name) - rank(b.name) || byName(a.name, b.name));
}

function byName(a: string, b: string): number {
  return a.localeCompare(b, undefined, { numeric: true });
}
