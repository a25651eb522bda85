import { useState } from 'preact/hooks';
import { isShared } from '../../api/client';
import { patchRun } from '../../api/runs';
import type { Run } from '../../api/types';
import { toApiError } from '../../lib/resource';
import { Button } from '../../ui/button';
import { say } from '../../ui/toast';

export function NotesEditor({ run, onChanged }: { run: Run; onChanged: () => void }) {
  const [draft, setDraft] = useState<string | null>(null);
  const notes = run.notes ?? '';
  const save = async () => {
    try {
      await patchRun(run, { notes: draft ?? '' });
      setDraft(null);
      onChanged();
    } catch (cause) {
      say(toApiError(cause).message);
    }
  };
  if (isShared) return notes ? <p class="notes">{notes}</p> : null;
  return (
    <div class="notes">
      <textarea
        class="field"
        rows={draft === null && !notes ? 1 : 4}
        placeholder="Notes"
        aria-label="Notes"
        value={draft ?? notes}
        onInput={(event) => setDraft(event.currentTarget.value)}
      />
      {draft !== null && draft !== notes && (
        <div class="row">
          <Button kind="primary" onClick={() => void save()}>
            Save
          </Button>
          <Button onClick={() => setDraft(null)}>Leave as it was</Button>
        </div>
      )}
    </div>
  );
}
