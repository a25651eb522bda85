import { expect, test } from 'vitest';
import { parseAnsi, stripAnsi } from './ansi';

test('colours become classes, resets end them', () => {
  expect(parseAnsi('a \u001b[1;31mred\u001b[0m b')).toEqual([
    { text: 'a ', classes: '' },
    { text: 'red', classes: 'ansi-red ansi-bold' },
    { text: ' b', classes: '' },
  ]);
});

test('256 colours and 24-bit colours keep their value', () => {
  expect(parseAnsi('\u001b[38;5;196mx')[0]?.colour).toBe('rgb(255 0 0)');
  expect(parseAnsi('\u001b[38;2;1;2;3mx')[0]?.colour).toBe('rgb(1 2 3)');
});

test('a progress bar shows its last state', () => {
  expect(stripAnsi('10%\r50%\r100%')).toBe('100%');
  expect(stripAnsi('10%\r50%\r')).toBe('50%');
});

test('cursor movements and titles are dropped', () => {
  expect(stripAnsi('\u001b[2K\u001b[1Gdone\u001b]0;title\u0007!')).toBe('done!');
});

test('markup stays text', () => {
  expect(parseAnsi('<b>&amp;</b>')).toEqual([{ text: '<b>&amp;</b>', classes: '' }]);
});
