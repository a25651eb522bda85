// Completion for the filter: which word the caret is in, and which names fit it.

export const FACTS = [
  'attempt', 'created', 'duration', 'ended', 'group', 'heartbeat', 'host', 'id', 'job_type',
  'last_step', 'name', 'notes', 'parent', 'source', 'state', 'sweep', 'tag', 'user',
]; // prettier-ignore

export interface Word {
  start: number;
  end: number;
  text: string;
}

const WORD = /[\w./:@%+-]/;

/** The word around the caret; nothing inside a quoted text. */
export function wordAt(text: string, caret: number): Word | undefined {
  const before = text.slice(0, caret);
  if ((before.match(/"/g)?.length ?? 0) % 2 === 1) return undefined;
  let start = caret;
  while (start > 0 && WORD.test(text.charAt(start - 1))) start -= 1;
  let end = caret;
  while (end < text.length && WORD.test(text.charAt(end))) end += 1;
  return { start, end, text: text.slice(start, caret) };
}

const MAX_OFFERED = 12;

/** Names that start with the word, then those that hold it somewhere. */
export function complete(word: string, names: readonly string[]): string[] {
  if (!word) return [];
  const low = word.toLowerCase();
  const rank = (name: string) => {
    const n = name.toLowerCase();
    if (n.startsWith(low)) return 0;
    if (n.split(/[./]/).some((part) => part.startsWith(low))) return 1;
    return n.includes(low) ? 2 : 3;
  };
  return names
    .map((name) => ({ name, rank: rank(name) }))
    .filter((r) => r.rank < 3 && r.name !== word)
    .sort((a, b) => a.rank - b.rank || a.name.length - b.name.length)
    .slice(0, MAX_OFFERED)
    .map((r) => r.name);
}

/** A name as it must stand in a filter: between backquotes when it is not a plain word. */
export function quoteName(name: string): string {
  return /^[A-Za-z_][\w./:@%+-]*$/.test(name) ? name : `\`${name}\``;
}

/** "summary.val/accuracy = x" as one more condition. */
export function withCondition(filter: string, condition: string): string {
  if (!filter.trim()) return condition;
  return / or /i.test(filter) ? `(${filter}) and ${condition}` : `${filter} and ${condition}`;
}
