import { useState } from 'preact/hooks';
import type { Json } from '../api/types';
import { formatNumber } from '../lib/numbers';
import { Button } from '../ui/button';

export interface Confusion {
  classes: string[];
  counts: number[][];
}

export function parseConfusion(body: { [key: string]: Json }): Confusion {
  const classes = Array.isArray(body['classes']) ? body['classes'].map(String) : [];
  const counts = Array.isArray(body['counts'])
    ? body['counts'].map((row) => (Array.isArray(row) ? row.map(Number) : []))
    : [];
  return { classes: counts.map((_, i) => classes[i] ?? String(i)), counts };
}

const MAX_LABELLED = 30;

/** Rows are the true classes, columns the predicted ones. */
export function ConfusionMatrix({ body }: { body: { [key: string]: Json } }) {
  const [isShare, setShare] = useState(true);
  const { classes, counts } = parseConfusion(body);
  const sums = counts.map((row) => row.reduce((a, b) => a + b, 0));
  const right = counts.reduce((sum, row, i) => sum + (row[i] ?? 0), 0);
  const all = sums.reduce((a, b) => a + b, 0);
  const hasText = classes.length <= MAX_LABELLED;
  return (
    <div class="confusion">
      <div class="row">
        <span class="muted">
          {formatNumber((right / Math.max(all, 1)) * 100, 4)} % of {formatNumber(all)} right
        </span>
        <Button pressed={isShare} onClick={() => setShare(!isShare)}>
          % of row
        </Button>
      </div>
      <div style={{ overflow: 'auto' }}>
        <table>
          <thead>
            <tr>
              <th>
                <span class="faint">true \ said</span>
              </th>
              {classes.map((name) => (
                <th key={name} class="clip" title={name}>
                  {hasText ? name : ''}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {counts.map((row, i) => (
              <tr key={classes[i]}>
                <th class="clip">{classes[i]}</th>
                {row.map((count, j) => {
                  const share = count / Math.max(sums[i] ?? 0, 1);
                  return (
                    <td
                      key={j}
                      class={i === j ? 'right' : 'wrong'}
                      style={{ '--share': `${Math.round(Math.sqrt(share) * 88)}%` }}
                      data-strong={share > 0.4}
                      title={`${classes[i] ?? ''} taken for ${classes[j] ?? ''}: ${count}`}
                    >
                      {hasText && count > 0 && (isShare ? (share * 100).toFixed(1) : count)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
