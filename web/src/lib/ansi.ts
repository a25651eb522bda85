// Console text with ANSI colours to pieces a page can show. Colours are class names, so that both
// themes pick their own; other control sequences are dropped.
export interface Piece {
  text: string;
  classes: string;
  colour?: string; // 24-bit or 256-colour foreground
}

interface Pen {
  fore: string;
  colour: string;
  flags: Set<string>;
}

const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
// eslint-disable-next-line no-control-regex
const ESCAPE = /\u001b(?:\[([0-9;:?]*)([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
const FLAGS: Record<number, string> = { 1: 'bold', 2: 'dim', 3: 'italic', 4: 'underline' };

/**
 * The text as a terminal would leave it: a carriage return starts the line over (progress bars).
 */
export function lastPrinted(line: string): string {
  const trimmed = line.replace(/\r+$/, '');
  return trimmed.slice(trimmed.lastIndexOf('\r') + 1);
}

export function parseAnsi(raw: string): Piece[] {
  const line = lastPrinted(raw);
  const pieces: Piece[] = [];
  const pen: Pen = { fore: '', colour: '', flags: new Set() };
  let last = 0;
  for (const match of line.matchAll(ESCAPE)) {
    push(pieces, pen, line.slice(last, match.index));
    last = match.index + match[0].length;
    if (match[2] === 'm') applyCodes(pen, match[1] ?? '');
  }
  push(pieces, pen, line.slice(last));
  return pieces;
}

export function stripAnsi(raw: string): string {
  return lastPrinted(raw).replace(ESCAPE, '');
}

function push(pieces: Piece[], pen: Pen, text: string): void {
  if (!text) return;
  const classes = [pen.fore && `ansi-${pen.fore}`, ...[...pen.flags].map((f) => `ansi-${f}`)];
  const piece: Piece = { text, classes: classes.filter(Boolean).join(' ') };
  if (pen.colour) piece.colour = pen.colour;
  pieces.push(piece);
}

function applyCodes(pen: Pen, list: string): void {
  const codes = list === '' ? [0] : list.split(/[;:]/).map(Number);
  for (let i = 0; i < codes.length; i += 1) {
    const code = codes[i] ?? 0;
    const flag = FLAGS[code];
    if (code === 0) reset(pen);
    else if (flag) pen.flags.add(flag);
    else if (code === 22) ['bold', 'dim'].forEach((f) => pen.flags.delete(f));
    else if (code === 23) pen.flags.delete('italic');
    else if (code === 24) pen.flags.delete('underline');
    else if (code === 38 || code === 48) i += extended(pen, codes.slice(i), code === 38);
    else if (code === 39) setFore(pen, '', '');
    else if (code >= 30 && code <= 37) setFore(pen, NAMES[code - 30] ?? '', '');
    else if (code >= 90 && code <= 97) setFore(pen, `bright-${NAMES[code - 90] ?? ''}`, '');
  }
}

function reset(pen: Pen): void {
  setFore(pen, '', '');
  pen.flags.clear();
}

function setFore(pen: Pen, name: string, colour: string): void {
  pen.fore = name;
  pen.colour = colour;
}

/** 38;5;N and 38;2;R;G;B: how many codes were used up beside the first. */
function extended(pen: Pen, codes: number[], isFore: boolean): number {
  if (codes[1] === 5) {
    if (isFore) setIndexed(pen, codes[2] ?? 0);
    return 2;
  }
  if (codes[1] === 2) {
    if (isFore) setFore(pen, '', `rgb(${codes[2] ?? 0} ${codes[3] ?? 0} ${codes[4] ?? 0})`);
    return 4;
  }
  return 0;
}

function setIndexed(pen: Pen, n: number): void {
  if (n < 8) setFore(pen, NAMES[n] ?? '', '');
  else if (n < 16) setFore(pen, `bright-${NAMES[n - 8] ?? ''}`, '');
  else if (n >= 232) setFore(pen, '', `rgb(${[8, 8, 8].map((c) => c + (n - 232) * 10).join(' ')})`);
  else {
    const level = (k: number) => (k === 0 ? 0 : 55 + 40 * k);
    const m = n - 16;
    const rgb = [level(Math.floor(m / 36)), level(Math.floor(m / 6) % 6), level(m % 6)];
    setFore(pen, '', `rgb(${rgb.join(' ')})`);
  }
}
