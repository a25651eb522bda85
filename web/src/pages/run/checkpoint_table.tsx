import type { Json, LogRecord } from '../../api/types';
import { plain } from '../../lib/flatten';
import { formatBytes, formatDate } from '../../lib/numbers';

/** The checkpoints that a training has told of. */
export function CheckpointTable({ records }: { records: LogRecord[] }) {
  if (records.length === 0) return <p class="faint">None has been logged.</p>;
  return (
    <table class="plain-table">
      <thead>
        <tr>
          <th class="num">step</th>
          <th>name</th>
          <th>type</th>
          <th>where</th>
          <th class="num">size</th>
          <th>when</th>
        </tr>
      </thead>
      <tbody>
        {records.map((record, i) => (
          <tr key={i}>
            <td class="num">{record.step}</td>
            <td>{text(record.body['name'])}</td>
            <td class="muted">{text(record.body['type'])}</td>
            <td class="mono">{text(record.body['location'])}</td>
            <td class="num">{formatBytes(Number(record.body['size'] ?? 0))}</td>
            <td class="muted">{formatDate(record.time_us)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function text(value: Json | undefined): string {
  return String(plain(value) ?? '');
}
