import { useState } from 'preact/hooks';

export interface KeyGroup {
  label: string;
  keys: string[];
}

interface Props {
  groups: KeyGroup[];
  chosen: string[];
  placeholder: string;
  onToggle: (key: string) => void;
  title?: (key: string) => string;
}

const MAX_SHOWN = 200;

/** A long list of names with a box to find one, and a tick at those chosen. */
export function KeyPicker({ groups, chosen, placeholder, onToggle, title = (k) => k }: Props) {
  const [find, setFind] = useState('');
  const words = find.toLowerCase().split(/\s+/);
  const fits = (key: string) => words.every((w) => key.toLowerCase().includes(w));
  return (
    <>
      <input
        class="field"
        type="search"
        style={{ width: '100%' }}
        placeholder={placeholder}
        aria-label={placeholder}
        value={find}
        onInput={(event) => setFind(event.currentTarget.value)}
      />
      {groups.map((group) => {
        const keys = group.keys.filter(fits);
        if (keys.length === 0) return null;
        return (
          <div key={group.label} role="group" aria-label={group.label}>
            <div class="label">{group.label}</div>
            {keys.slice(0, MAX_SHOWN).map((key) => (
              <label key={key} class="item">
                <input
                  type="checkbox"
                  checked={chosen.includes(key)}
                  onChange={() => onToggle(key)}
                />
                <span class="clip">{title(key)}</span>
              </label>
            ))}
            {keys.length > MAX_SHOWN && (
              <div class="label">and {keys.length - MAX_SHOWN} more: type a part of the name</div>
            )}
          </div>
        );
      })}
    </>
  );
}
