import { expect, test } from 'vitest';
import { comparedField, complete, offersAt, withCondition, wordAt } from './query_words';

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

test('behind a comparison, the values of its field are offered', () => {
  const values = new Map([
    ['config.optimizer.name', ['adamw', 'sgd']],
    ['tag', ['paper', 'not for print']],
  ]);
  const at = (text: string) => offersAt(text, text.length, ['tag', 'val/loss'], values)?.offers;
  expect(at('config.optimizer.name = ')).toEqual(['adamw', 'sgd']);
  expect(at('config.optimizer.name in [adamw, s')).toEqual(['sgd']);
  expect(at('tag != pri')).toEqual(['"not for print"']);
  expect(at('tag = paper and lo')).toEqual(['val/loss']);
  expect(at('val/loss = ')).toEqual([]);
  expect(comparedField('`odd name` = ', 13)).toBe('odd name');
});
