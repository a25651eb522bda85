import { useState } from 'preact/hooks';
import { mayWrite } from '../lib/session';
import { Button } from './button';

interface Props {
  value: string;
  label: string; // "Notes"
  onSave: (text: string) => Promise<boolean>;
}

/** A text that is changed in place; nothing is sent before "Save". */
export function TextEditor({ value, label, onSave }: Props) {
  const [draft, setDraft] = useState<string | null>(null);
  if (!mayWrite.value) return value ? <p class="notes">{value}</p> : null;
  const save = async () => {
    if (await onSave(draft ?? '')) setDraft(null);
  };
  return (
    <div class="notes">
      <textarea
        class="field"
        rows={draft === null && !value ? 1 : 3}
        placeholder={label}
        aria-label={label}
        value={draft ?? value}
        onInput={(event) => setDraft(event.currentTarget.value)}
      />
      {draft !== null && draft !== value && (
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
