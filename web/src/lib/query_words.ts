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

const COMPARED = /(?:([\w./:@%+-]+)|`([^`]*)`)\s*(?:[!=]?=|in\s*\[[^\]]*)\s*$/i;

/** The field that what stands at this place is compared with: "lr" for "lr = |". */
export function comparedField(text: string, at: number): string | undefined {
  const match = COMPARED.exec(text.slice(0, at));
  return match?.[1] ?? match?.[2];
}

/**
 * What may stand at the caret, as it must be written: the values of the field it is compared
 * with, where they are known, else names.
 */
export function offersAt(
  text: string,
  caret: number,
  names: readonly string[],
  values: ReadonlyMap<string, readonly string[]>,
): { word: Word; offers: string[] } | undefined {
  const word = wordAt(text, caret);
  if (!word) return undefined;
  const field = comparedField(text, word.start);
  if (field === undefined) return { word, offers: complete(word.text, names).map(quoteName) };
  const known = values.get(field) ?? [];
  const fitting = word.text ? complete(word.text, known) : known.slice(0, MAX_OFFERED);
  return { word, offers: fitting.map(quoteValue) };
}

/** A value as it must stand in a filter. */
export function quoteValue(value: string): string {
  const isPlain = /^[\w.+-]+$/.test(value) && !/^(and|or|not|in|exists)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}

/** A name as it must stand in a filter: between backquotes when it is not a plain word. */
export function quoteName(name: string): string {
  return /^[A-Za-z_][\w./:@%+-]*$/.test(name) ? name : `\`${name}\``;
}

/** One more condition. In brackets, because "or" may stand in the filter. */
export function withCondition(filter: string, condition: string): string {
  return filter.trim() ? `(${filter}) and ${condition}` : condition;
}
