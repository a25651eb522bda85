import { expect, test } from 'vitest';
import { complete, withCondition, wordAt } from './query_words';

test('the word at the caret reaches over dots and slashes', () => {
  expect(wordAt('a < 1 and config.op', 19)).toEqual({ start: 10, end: 19, text: 'config.op' });
});

test('a quoted text is not completed', () => {
  expect(wordAt('tag = "pap', 10)).toBeUndefined();
});

test('names that start with the word come first, short ones before long ones', () => {
  const names = ['config.optimizer.lr', 'lr', 'config.lr_end', 'color'];
  expect(complete('lr', ['lr_end', ...names])).toEqual([
    'lr_end',
    'config.lr_end',
    'config.optimizer.lr',
  ]);
});

test('a condition binds tighter than the "or" before it', () => {
  expect(withCondition('a = 1 or b = 2', 'c = 3')).toBe('(a = 1 or b = 2) and c = 3');
  expect(withCondition('', 'c = 3')).toBe('c = 3');
});
