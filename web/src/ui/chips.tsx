import { useState } from 'preact/hooks';

interface Props {
  values: readonly string[];
  noun: string; // "tag"
  hint?: string; // what the empty field says
  onAdd?: (value: string) => void;
  onRemove?: (value: string) => void;
  isFixed?: (value: string) => boolean; // one that the server keeps by itself
}

/** Short words that can be taken away and added: tags, aliases. Without handlers, only shown. */
export function Chips({ values, noun, hint = 'add', onAdd, onRemove, isFixed }: Props) {
  const [text, setText] = useState('');
  const add = () => {
    const value = text.trim();
    setText('');
    if (value && !values.includes(value)) onAdd?.(value);
  };
  return (
    <span class="tags wrap">
      {values.map((value) => (
        <span key={value} class="tag" title={value}>
          <span class="clip">{value}</span>
          {onRemove && !isFixed?.(value) && (
            <button
              type="button"
              aria-label={`Take away the ${noun} ${value}`}
              onClick={() => onRemove(value)}
            >
              &times;
            </button>
          )}
        </span>
      ))}
      {onAdd && (
        <input
          class="field tag-field"
          placeholder={hint}
          aria-label={`Add a${/^[aeiou]/.test(noun) ? 'n' : ''} ${noun}`}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onBlur={add}
          onKeyDown={(event) => event.key === 'Enter' && add()}
        />
      )}
    </span>
  );
}
