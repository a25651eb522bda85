import { expect, test } from 'vitest';
import { layoutOf } from './column_widths';

test('a column keeps the width it was given, and the others share the rest', () => {
  expect(layoutOf(['name', 'created', 'config.lr'], { created: 140 }, false)).toEqual({
    template: 'minmax(250px, 1.6fr) 140px minmax(86px, 1fr)',
    least: 250 + 140 + 86,
  });
});

test('a long title gets room, up to a limit; groups show mean and deviation', () => {
  expect(layoutOf(['summary.val/accuracy_of_all_the_many_classes'], {}, false).least).toBe(190);
  expect(layoutOf(['config.lr'], {}, true).least).toBe(132);
});
