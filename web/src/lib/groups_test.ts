import { expect, test } from 'vitest';
import { groupCondition, nameOfGroup, quoteField } from './groups';

test('a group is named by its values', () => {
  expect(nameOfGroup(['adam', 0.1, true, null])).toBe('adam / 0.1 / true / (none)');
});

test('its runs are picked by all of its values', () => {
  expect(groupCondition(['config.opt', 'config.lr'], ['adam w', 1e-7])).toBe(
    'config.opt = "adam w" and config.lr = 1e-7',
  );
  expect(groupCondition(['config.amp'], [true])).toBe('config.amp = true');
  expect(groupCondition(['config.seed'], ['7'])).toBe('config.seed = "7"');
});

test('a missing value may be null, an empty text, or not there', () => {
  expect(groupCondition(['group'], [null])).toBe(
    '(not exists group or group = null or group = "")',
  );
});

test('a name that is no plain word goes between backquotes', () => {
  expect(quoteField('config.learning rate')).toBe('config.`learning rate`');
  expect(quoteField('summary.val/acc')).toBe('summary.val/acc');
  expect(quoteField('summary.odd name.min')).toBe('summary.`odd name`.min');
  expect(quoteField('config.x.min')).toBe('config.x.min');
  expect(quoteField('last_step')).toBe('last_step');
});
