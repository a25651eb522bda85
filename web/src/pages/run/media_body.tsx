import type { Json, LogRecord, Run } from '../../api/types';
import { ConfusionMatrix } from '../../charts/confusion_matrix';
import { TablePlot } from '../../charts/table_plot';
import { mediaItems, sectionOf } from '../../lib/media_types';
import { parseTable } from '../../lib/tables';
import type { Panel } from '../../lib/wandb_panels';
import { DataTable } from '../../ui/data_table';
import { HtmlFrame } from '../../ui/html_frame';
import { MediaFile } from '../../ui/media_file';
import { HtmlFile, TableFile } from './file_media';
import { fileUrl } from './files';

interface Props {
  run: Run;
  record: LogRecord;
  panel?: Panel | undefined;
}

/** What one record shows. */
export function MediaBody({ run, record, panel }: Props) {
  const { body, type, key } = record;
  const isFile = typeof body['path'] === 'string';
  switch (sectionOf(type)) {
    case 'image':
      return <Picture run={run} record={record} />;
    case 'table':
      return isFile ? (
        <TableFile run={run} record={record} panel={panel} />
      ) : (
        <DataTable table={parseTable(body)} imageUrl={(path) => fileUrl(run, path)} />
      );
    case 'plot':
      return <TablePlot table={parseTable(body)} body={body} />;
    case 'confusion':
      return <ConfusionMatrix body={body} />;
    case 'text':
      return <pre class="text">{String(body['text'] ?? '')}</pre>;
    case 'html':
      if (typeof body['html'] === 'string') return <HtmlFrame html={body['html']} title={key} />;
      return (
        <>
          {mediaItems(type, body).map(({ path }) => (
            <HtmlFile key={path} run={run} name={key} path={path} />
          ))}
        </>
      );
    case 'histogram': // all steps in one drawing: media_frame.tsx
      return null;
    default:
      return (
        <>
          {mediaItems(type, body).map((item) => (
            <div key={item.path} class="media-item">
              <MediaFile {...item} url={fileUrl(run, item.path)} />
              {item.caption && <p class="caption">{item.caption}</p>}
            </div>
          ))}
        </>
      );
  }
}

function Picture({ run, record }: { run: Run; record: LogRecord }) {
  const { body, key, step } = record;
  const url = fileUrl(run, String(body['path'] ?? ''));
  const caption = typeof body['caption'] === 'string' ? body['caption'] : '';
  const hidden = ['boxes', 'masks'].filter((name) => hasSome(body[name]));
  return (
    <>
      <a href={url} target="_blank" rel="noreferrer">
        <img class="picture" src={url} alt={caption || `${key} at step ${step}`} />
      </a>
      {caption && <p class="caption">{caption}</p>}
      {hidden.length > 0 && (
        <p class="faint">Logged with {hidden.join(' and ')}, which this page does not draw.</p>
      )}
    </>
  );
}

function hasSome(value: Json | undefined): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}
