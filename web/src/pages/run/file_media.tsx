import { useState } from 'preact/hooks';
import type { LogRecord, Run } from '../../api/types';
import { PanelPlot } from '../../charts/panel_plot';
import { useResource } from '../../lib/resource';
import type { Panel } from '../../lib/wandb_panels';
import { Button } from '../../ui/button';
import { DataTable } from '../../ui/data_table';
import { HtmlFrame } from '../../ui/html_frame';
import { fileUrl } from './files';
import { loadText, useTable } from './use_table';

/** A page whose bytes are a file of the run. */
export function HtmlFile({ run, name, path }: { run: Run; name: string; path: string }) {
  const loaded = useResource(`${run.project}/${run.id}/${path}`, (signal) =>
    loadText(fileUrl(run, path), signal),
  );
  if (loaded.error) return <p class="bad">{loaded.error.message}</p>;
  return loaded.data === undefined ? null : <HtmlFrame html={loaded.data} title={name} />;
}

interface TableProps {
  run: Run;
  record: LogRecord;
  panel?: Panel | undefined; // how the run wants it drawn
}

/** A table whose bytes are a file, as wandb clients log them; with a panel, the plot of it. */
export function TableFile({ run, record, panel }: TableProps) {
  const loaded = useTable(run, record);
  const [isTable, setTable] = useState(false);
  if (loaded.error) return <p class="bad">{loaded.error.message}</p>;
  if (!loaded.data) return null;
  const { table, urlOf } = loaded.data;
  if (!panel) return <DataTable table={table} imageUrl={urlOf} />;
  return (
    <>
      <div class="row">
        <span class="panel-title clip">{panel.texts['title'] ?? ''}</span>
        <Button pressed={isTable} onClick={() => setTable(!isTable)}>
          table
        </Button>
      </div>
      {isTable ? (
        <DataTable table={table} imageUrl={urlOf} />
      ) : (
        <PanelPlot panel={panel} table={table} />
      )}
    </>
  );
}
