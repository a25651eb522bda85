import { useState } from 'preact/hooks';
import { isShared } from '../../api/client';
import { patchRun } from '../../api/runs';
import type { Run } from '../../api/types';
import { toApiError } from '../../lib/resource';
import { say } from '../../ui/toast';

export function TagEditor({ run, onChanged }: { run: Run; onChanged: () => void }) {
  const [text, setText] = useState('');
  const save = async (tags: string[]) => {
    try {
      await patchRun(run, { tags });
      onChanged();
    } catch (cause) {
      say(toApiError(cause).message);
    }
  };
  const add = () => {
    const tag = text.trim();
    setText('');
    if (tag && !run.tags.includes(tag)) void save([...run.tags, tag]);
  };
  return (
    <span class="tags wrap">
      {run.tags.map((tag) => (
        <span key={tag} class="tag">
          {tag}
          {!isShared && (
            <button
              type="button"
              aria-label={`Take away the tag ${tag}`}
              onClick={() => void save(run.tags.filter((t) => t !== tag))}
            >
              &times;
            </button>
          )}
        </span>
      ))}
      {!isShared && (
        <input
          class="field tag-field"
          placeholder="add"
          aria-label="Add a tag"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onBlur={add}
          onKeyDown={(event) => event.key === 'Enter' && add()}
        />
      )}
    </span>
  );
}
