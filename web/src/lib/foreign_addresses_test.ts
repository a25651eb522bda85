// The addresses are as wandb 0.31 and mlflow 3.17 print them.
import { describe, expect, it } from 'vitest';
import { fromExperiment, fromWandb } from './foreign_addresses';
import { parseHash } from './router';

function wandb(address: string): string {
  const { path, query } = parseHash(`#/${address}`);
  return fromWandb(path, query);
}

describe('addresses of W&B', () => {
  it('lead to what they name', () => {
    expect(wandb('lab/mnist')).toBe('#/p/mnist');
    expect(wandb('lab/mnist/workspace')).toBe('#/p/mnist');
    expect(wandb('lab/my%20net/runs/abc')).toBe('#/p/my%20net/run/abc');
    expect(wandb('lab/mnist/runs/abc/logs')).toBe('#/p/mnist/run/abc/console');
    expect(wandb('lab/mnist/sweeps/s1')).toBe('#/p/mnist/sweeps/s1');
    expect(wandb('lab/mnist/artifacts/model/net/v2')).toBe('#/p/mnist/artifacts/net/v2');
  });

  it('show a group as the runs that are in it', () => {
    expect(wandb('lab/mnist/groups/a%22b/workspace')).toBe('#/p/mnist?f=group+%3D+%22a%5C%22b%22');
  });

  it('lead from a registry to the collection', () => {
    expect(
      wandb('lab/registry/model?selectionPath=lab%2Fmnist%2Fbest&view=membership&version=v1'),
    ).toBe('#/p/mnist/artifacts/best/v1');
  });

  it('lead to the tokens, or to all projects', () => {
    expect(wandb('authorize?ref=models')).toBe('#/settings');
    expect(wandb('lab')).toBe('#/');
  });
});

describe('addresses of MLflow', () => {
  it('lead to the run or its project', () => {
    expect(fromExperiment('mnist', ['runs', 'f00'])).toBe('#/p/mnist/run/f00');
    expect(fromExperiment('mnist', [])).toBe('#/p/mnist');
    expect(fromExperiment('mnist', ['overview'])).toBe('#/p/mnist');
  });
});
