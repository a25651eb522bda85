import { expect, test } from 'vitest';
import { matches, sectionsOf } from './sections';

test('metrics are put together by prefix, training first', () => {
  const names = ['val/loss', 'layer10/g', 'layer2/g', 'train/loss', 'lr', 'train/acc'];
  expect(sectionsOf(names, '')).toEqual([
    { name: 'train', metrics: ['train/acc', 'train/loss'] },
    { name: 'val', metrics: ['val/loss'] },
    { name: '', metrics: ['lr'] },
    { name: 'layer2', metrics: ['layer2/g'] },
    { name: 'layer10', metrics: ['layer10/g'] },
  ]);
});

test('all words must occur, in any order', () => {
  expect(matches('train/top1_accuracy', 'acc train')).toBe(true);
  expect(matches('val/top1_accuracy', 'acc train')).toBe(false);
});

test('between slashes it is a regular expression, and a broken one finds nothing', () => {
  expect(matches('gpu/0/percent', '/gpu.\\d/')).toBe(true);
  expect(matches('gpu/0/percent', '/(/')).toBe(false);
});
