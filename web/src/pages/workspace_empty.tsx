import { Button } from '../ui/button';
import { Empty } from '../ui/empty';

export function NoMatch({ onClear }: { onClear: () => void }) {
  return (
    <Empty title="No run matches">
      <p>Every run of this project is left out by the filter.</p>
      <Button onClick={onClear}>Clear the filter</Button>
    </Empty>
  );
}

export function NoRuns({ project }: { project: string }) {
  return (
    <Empty
      title="No runs here yet"
      command={[
        `kedge train config.yaml run.project=${project} track.server=${location.origin}`,
        '',
        '# what ran without a server, later:',
        `kedge sync runs/ --server ${location.origin}`,
      ].join('\n')}
    >
      <p>A run appears here with its first logged value.</p>
    </Empty>
  );
}
