import { patchRun } from '../../api/runs';
import type { Run, WireNumber } from '../../api/types';
import { attempt } from '../../lib/attempt';
import { cellOf } from '../../lib/flatten';
import { formatDate, formatNumber, fromWire } from '../../lib/numbers';
import { linkTo } from '../../lib/router';
import { Fact, Facts } from '../../ui/facts';
import { LabelEditor } from '../../ui/label_editor';
import { TextEditor } from '../../ui/text_editor';
import { formatCell } from '../cell';
import { ConfigTable } from './config_table';
import { Datasets } from './datasets';
import { Environment } from './environment';
import { TagEditor } from './tag_editor';

interface Props {
  run: Run;
  onChanged: () => void;
}

/** What a run is, what it was asked to do, what came out, and where it ran. */
export function Overview({ run, onChanged }: Props) {
  return (
    <div class="scroll">
      <div class="overview">
        <div>
          <section>
            <h2>Run</h2>
            <Facts>
              {factsOf(run).map(([name, value]) => (
                <Fact key={name} name={name}>
                  {value}
                </Fact>
              ))}
              <Fact name="tags">
                <TagEditor run={run} onChanged={onChanged} />
              </Fact>
              {(run.source !== 'kedge' || Object.keys(run.labels ?? {}).length > 0) && (
                <Fact name="labels">
                  <LabelEditor
                    labels={run.labels ?? {}}
                    onChange={(labels) =>
                      void attempt(() => patchRun(run, { labels })).then(onChanged)
                    }
                  />
                </Fact>
              )}
            </Facts>
            <TextEditor
              value={run.notes ?? ''}
              label="Notes"
              onSave={async (notes) => {
                const isSaved = await attempt(() => patchRun(run, { notes }));
                if (isSaved) onChanged();
                return isSaved;
              }}
            />
          </section>
          <section>
            <h2>Results</h2>
            <SummaryTable run={run} />
          </section>
          <Datasets run={run} />
          <Environment environment={run.environment ?? {}} />
        </div>
        <section>
          <ConfigTable run={run} />
        </section>
      </div>
    </div>
  );
}

function factsOf(run: Run): [string, preact.ComponentChildren][] {
  const link = (id: string) => <a href={linkTo(['p', run.project, 'run', id])}>{id}</a>;
  const facts: [string, preact.ComponentChildren][] = [
    ['started', formatDate(run.created_us)],
    ['ended', run.ended_us ? formatDate(run.ended_us) : ''],
    ['user', run.user],
    ['host', run.host],
    ['group', run.group],
    ['job type', run.job_type],
    ['logged by', run.source],
    ['attempts', run.attempt],
    ['went on from', run.parent ? link(run.parent) : ''],
    ['sweep', run.sweep],
  ];
  return facts;
}

function lastOf(run: Run, column: string): string {
  return formatCell(cellOf(run, column), column);
}

/** What was set by hand has neither a least nor a greatest value. */
function numberOf(value: WireNumber | undefined): string {
  return value === undefined ? '' : formatNumber(fromWire(value));
}

function SummaryTable({ run }: { run: Run }) {
  const rows = Object.entries(run.summary).sort(([a], [b]) => a.localeCompare(b));
  if (rows.length === 0) return <p class="faint">No values yet.</p>;
  return (
    <table class="plain-table">
      <thead>
        <tr>
          <th>metric</th>
          <th class="num">last</th>
          <th class="num">least</th>
          <th class="num">greatest</th>
          <th class="num">step</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([key, value]) => (
          <tr key={key}>
            <td>{key}</td>
            <td class="num">{lastOf(run, `summary.${key}`)}</td>
            <td class="num muted">{numberOf(value.min)}</td>
            <td class="num muted">{numberOf(value.max)}</td>
            <td class="num faint">{value.last_step}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
