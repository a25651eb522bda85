import { useState } from 'preact/hooks';
import { isShared } from '../api/client';
import { ARCHIVED, deleteRun, patchRun } from '../api/runs';
import type { Run } from '../api/types';
import { toApiError } from '../lib/resource';
import { go } from '../lib/router';
import { Popover } from '../ui/popover';
import { say } from '../ui/toast';

interface Props {
  run: Run;
  anchor: HTMLElement;
  onClose: () => void;
  onChanged: () => void;
}

/** What can be done to one run. Deleting asks once more, in place. */
export function RunMenu({ run, anchor, onClose, onChanged }: Props) {
  const [isSure, setSure] = useState(false);
  const isArchived = run.tags.includes(ARCHIVED);
  const change = async (tags: string[], done: string) => {
    onClose();
    try {
      await patchRun(run, { tags });
      say(done);
      onChanged();
    } catch (cause) {
      say(toApiError(cause).message);
    }
  };
  const archive = () =>
    change(
      isArchived ? run.tags.filter((t) => t !== ARCHIVED) : [...run.tags, ARCHIVED],
      isArchived ? `${run.name} is back in the table` : `${run.name} is archived`,
    );
  const remove = async () => {
    onClose();
    try {
      await deleteRun(run);
      say(`${run.name} is deleted`);
      onChanged();
    } catch (cause) {
      say(toApiError(cause).message);
    }
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
      {!isShared && (
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
          <button
            type="button"
            class="item bad"
            onClick={() => (isSure ? void remove() : setSure(true))}
          >
            {isSure ? 'Delete for good: metrics, media and files' : 'Delete...'}
          </button>
        </>
      )}
    </Popover>
  );
}
