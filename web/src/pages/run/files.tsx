import { useState } from 'preact/hooks';
import { apiUrl, filePath, runPath } from '../../api/client';
import { loadFiles } from '../../api/runs';
import type { Run } from '../../api/types';
import { formatBytes } from '../../lib/numbers';
import { useResource } from '../../lib/resource';
import { Empty } from '../../ui/empty';
import { ErrorNote } from '../../ui/error_note';

export function fileUrl(run: { project: string; id: string }, path: string): string {
  return apiUrl(runPath(run, `files/${filePath(path)}`));
}

export function Files({ run }: { run: Run }) {
  const files = useResource(`${run.project}/${run.id}`, (signal) => loadFiles(run, signal));
  const [find, setFind] = useState('');
  if (files.error && !files.data) return <ErrorNote error={files.error} onRetry={files.reload} />;
  if (files.data?.length === 0) {
    return (
      <Empty title="No files">
        <p>Media, checkpoints and whatever else is uploaded with the run is listed here.</p>
      </Empty>
    );
  }
  const shown = (files.data ?? []).filter((f) => f.path.toLowerCase().includes(find.toLowerCase()));
  const total = shown.reduce((sum, file) => sum + file.size, 0);
  return (
    <div class="scroll">
      <div class="leaf">
        <div class="row">
          <input
            class="field"
            type="search"
            placeholder="Part of a path"
            aria-label="Find files"
            value={find}
            onInput={(event) => setFind(event.currentTarget.value)}
          />
          <span class="faint">
            {shown.length} files, {formatBytes(total)}
          </span>
        </div>
        <table class="plain-table">
          <thead>
            <tr>
              <th>path</th>
              <th class="num">size</th>
              <th>digest</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((file) => (
              <tr key={file.path}>
                <td>
                  <a href={fileUrl(run, file.path)} download={file.path.split('/').pop()}>
                    {file.path}
                  </a>
                </td>
                <td class="num">{formatBytes(file.size)}</td>
                <td class="mono faint">{file.digest?.slice(0, 19)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
