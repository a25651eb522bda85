import { ARCHIVED, deleteRun, patchRun, restoreRun } from '../api/runs';
import type { Run } from '../api/types';
import { attempt } from '../lib/attempt';
import { go } from '../lib/router';
import { mayWrite } from '../lib/session';
import { Popover } from '../ui/popover';
import { say } from '../ui/toast';

interface Props {
  run: Run;
  anchor: HTMLElement;
  isPinned: boolean;
  onPin: () => void; // to the top, or back
  onClose: () => void;
  onChanged: () => void;
}

/** What can be done to one run. Deleting puts it into the trash, and can be undone. */
export function RunMenu({ run, anchor, isPinned, onPin, onClose, onChanged }: Props) {
  const isArchived = run.tags.includes(ARCHIVED);
  const change = async (tags: string[], done: string) => {
    onClose();
    if (await attempt(() => patchRun(run, { tags }), done)) onChanged();
  };
  const archive = () =>
    change(
      isArchived ? run.tags.filter((t) => t !== ARCHIVED) : [...run.tags, ARCHIVED],
      isArchived ? `${run.name} is back in the table` : `${run.name} is archived`,
    );
  const remove = async () => {
    onClose();
    if (!(await attempt(() => deleteRun(run)))) return;
    onChanged();
    say(`${run.name || run.id} is in the trash`, {
      label: 'Restore',
      run: () => void attempt(() => restoreRun(run)).then(onChanged),
    });
  };
  return (
    <Popover anchor={anchor} label={`Actions for ${run.name}`} role="menu" onClose={onClose}>
      <button type="button" class="item" onClick={() => go(['p', run.project, 'run', run.id])}>
        Open
      </button>
      <button
        type="button"
        class="item"
        onClick={() => {
          void navigator.clipboard?.writeText(run.id);
          say(`Copied ${run.id}`);
          onClose();
        }}
      >
        Copy the id <span class="faint mono">{run.id}</span>
      </button>
      <button
        type="button"
        class="item"
        onClick={() => {
          onPin();
          onClose();
        }}
      >
        {isPinned ? 'Let go from the top' : 'Keep at the top'}
      </button>
      {mayWrite.value && (
        <>
          <form
            class="item"
            onSubmit={(event) => {
              event.preventDefault();
              const field = event.currentTarget.elements.namedItem('tags') as HTMLInputElement;
              void change(field.value.split(/[,\s]+/).filter(Boolean), 'Tags saved');
            }}
          >
            <span>Tags</span>
            <input
              class="field"
              name="tags"
              style={{ flex: 1 }}
              value={run.tags.join(', ')}
              aria-label="Tags"
            />
          </form>
          <hr />
          <button type="button" class="item" onClick={() => void archive()}>
            {isArchived ? 'Take out of the archive' : 'Archive'}
          </button>
          <button type="button" class="item bad" onClick={() => void remove()}>
            Delete
          </button>
        </>
      )}
    </Popover>
  );
}
