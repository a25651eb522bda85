import { ApiError } from '../../api/client';
import type { Json, Run } from '../../api/types';
import { isObject } from '../../lib/flatten';
import { useResource } from '../../lib/resource';
import { parseTable } from '../../lib/tables';
import { DataTable } from '../../ui/data_table';
import { HtmlFrame } from '../../ui/html_frame';
import { fileUrl } from './files';

interface Props {
  run: Run;
  type: 'html' | 'table';
  name: string;
  path: string;
}

/** A table or a page whose bytes are a file of the run, as wandb clients log them. */
export function FileMedia({ run, type, name, path }: Props) {
  const loaded = useResource(`${run.project}/${run.id}/${path}`, (signal) =>
    loadText(fileUrl(run, path), signal),
  );
  if (loaded.error) return <p class="bad">{loaded.error.message}</p>;
  if (loaded.data === undefined) return null;
  if (type === 'html') return <HtmlFrame html={loaded.data} title={name} />;
  return (
    <DataTable
      table={parseTable(parseTableFile(loaded.data))}
      imageUrl={(image) => fileUrl(run, image)}
    />
  );
}

async function loadText(url: string, signal: AbortSignal): Promise<string> {
  const answer = await fetch(url, { signal });
  if (!answer.ok) throw new ApiError(answer.status, 'file', 'The file has not come yet.');
  return answer.text();
}

// Python writes NaN and infinities bare, which is no JSON.
function parseTableFile(text: string): { [key: string]: Json } {
  const strict = text.replace(/(?<=[[,:]\s*)(-?Infinity|NaN)(?=\s*[\],}])/g, '"$1"');
  let file: Json;
  try {
    file = JSON.parse(strict) as Json;
  } catch {
    return {};
  }
  return isObject(file) ? { columns: file['columns'] ?? [], rows: file['data'] ?? [] } : {};
}
