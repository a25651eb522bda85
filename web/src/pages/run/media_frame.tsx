import { useEffect, useRef, useState } from 'preact/hooks';
import { loadRecords } from '../../api/records';
import type { LogRecord, Run } from '../../api/types';
import { ConfusionMatrix } from '../../charts/confusion_matrix';
import { useVisible } from '../../charts/element_size';
import { HistogramSteps } from '../../charts/histogram_steps';
import { TablePlot } from '../../charts/table_plot';
import { parseTable } from '../../lib/tables';
import { useResource } from '../../lib/resource';
import { DataTable } from '../../ui/data_table';
import { HtmlFrame } from '../../ui/html_frame';
import { FileMedia } from './file_media';
import { fileUrl } from './files';

interface Props {
  run: Run;
  type: string;
  name: string;
  turn: number;
}

/** One logged thing, with a slider over the steps at which it was logged. */
export function MediaFrame({ run, type, name, turn }: Props) {
  const figure = useRef<HTMLElement>(null);
  const isVisible = useVisible(figure);
  const [wasSeen, setSeen] = useState(false);
  const [at, setAt] = useState(Infinity); // Infinity: the newest
  const key = wasSeen ? `${run.id}/${type}/${name}/${Math.floor(turn / 5)}` : '';
  const loaded = useResource(key, (signal) => loadRecords(run, { type, key: name }, signal));
  useEffect(() => {
    if (isVisible) setSeen(true);
  }, [isVisible]);
  const records = loaded.data?.records ?? [];
  const index = Math.min(at, records.length - 1);
  const record = records[index];
  const hasSlider = records.length > 1 && type !== 'histogram';
  return (
    <figure ref={figure} class="media" aria-label={`${type} ${name}`}>
      <figcaption class="row">
        <b class="clip">{name}</b>
        {record && type !== 'histogram' && <span class="faint">step {record.step}</span>}
        {hasSlider && (
          <input
            class="push"
            type="range"
            min={0}
            max={records.length - 1}
            value={index}
            aria-label={`Step of ${name}`}
            aria-valuetext={`step ${record?.step ?? 0}`}
            onInput={(event) => {
              const value = Number(event.currentTarget.value);
              setAt(value === records.length - 1 ? Infinity : value);
            }}
          />
        )}
      </figcaption>
      {loaded.error && <p class="bad">{loaded.error.message}</p>}
      {type === 'histogram' && records.length > 0 && <HistogramSteps records={records} />}
      {record && <Body run={run} type={type} record={record} />}
    </figure>
  );
}

function Body({ run, type, record }: { run: Run; type: string; record: LogRecord }) {
  const { body } = record;
  const path = body['path'];
  if ((type === 'html' || type === 'table') && typeof path === 'string') {
    return <FileMedia run={run} type={type} name={record.key} path={path} />;
  }
  switch (type) {
    case 'image': {
      const path = String(body['path'] ?? '');
      return (
        <a href={fileUrl(run, path)} target="_blank" rel="noreferrer">
          <img
            class="picture"
            src={fileUrl(run, path)}
            alt={`${record.key} at step ${record.step}`}
          />
        </a>
      );
    }
    case 'table':
      return <DataTable table={parseTable(body)} imageUrl={(path) => fileUrl(run, path)} />;
    case 'plot':
      return <TablePlot table={parseTable(body)} body={body} />;
    case 'confusion':
      return <ConfusionMatrix body={body} />;
    case 'text':
      return <pre class="text">{String(body['text'] ?? '')}</pre>;
    case 'html':
      return <HtmlFrame html={String(body['html'] ?? '')} title={record.key} />;
    default:
      return null;
  }
}
