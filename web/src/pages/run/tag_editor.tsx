import { patchRun } from '../../api/runs';
import type { Run } from '../../api/types';
import { attempt } from '../../lib/attempt';
import { mayWrite } from '../../lib/session';
import { Chips } from '../../ui/chips';

export function TagEditor({ run, onChanged }: { run: Run; onChanged: () => void }) {
  const save = async (tags: string[]) => {
    if (await attempt(() => patchRun(run, { tags }))) onChanged();
  };
  const change = mayWrite.value && {
    onAdd: (tag: string) => void save([...run.tags, tag]),
    onRemove: (tag: string) => void save(run.tags.filter((t) => t !== tag)),
  };
  return <Chips values={run.tags} noun="tag" {...change} />;
}
