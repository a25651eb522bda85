import { SummaryBars } from '../../charts/summary_bars';
import { route, setQuery } from '../../lib/router';
import { Button } from '../../ui/button';
import { ColumnSelect } from './column_select';
import type { CompareProps } from './compare_page';
import { defaultMetric } from './parallel';

export function Bars({ runs, config, summary }: CompareProps) {
  const query = route.value.query;
  const column = query.get('sy') ?? (defaultMetric(summary) || 'duration');
  const isFalling = query.get('up') !== '1';
  return (
    <>
      <div class="row">
        <ColumnSelect
          label="value"
          value={column}
          {...{ config, summary }}
          onPick={(c) => setQuery({ sy: c })}
        />
        <Button onClick={() => setQuery({ up: isFalling ? '1' : null })}>
          {isFalling ? 'greatest first' : 'least first'}
        </Button>
      </div>
      <SummaryBars runs={runs} column={column} isFalling={isFalling} />
    </>
  );
}
