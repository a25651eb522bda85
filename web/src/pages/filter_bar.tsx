import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Fields } from '../api/fields';
import type { ApiError } from '../api/client';
import { RUN_STATES } from '../api/types';
import { FACTS, offersAt } from '../lib/query_words';
import { Icon } from '../ui/icon';

interface Props {
  value: string;
  fields: Fields | undefined;
  error: ApiError | undefined;
  warnings: string[];
  onChange: (filter: string) => void;
}

const PAUSE_MS = 300;
const EXAMPLE = 'val/loss < 0.1 and config.optimizer.lr in [1e-3, 1e-2] and tag = "paper"';

/** The server's query language, with names to choose from while one types. */
export function FilterBar({ value, fields, error, warnings, onChange }: Props) {
  const [text, setText] = useState(value);
  const [offer, setOffer] = useState<string[]>([]);
  const [picked, setPicked] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const names = useMemo(() => fieldNames(fields), [fields]);
  const values = useMemo(() => fieldValues(fields), [fields]);
  useEffect(() => {
    if (value !== text.trim()) setText(value);
  }, [value]);

  const apply = (next: string, now: boolean) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(next.trim()), now ? 0 : PAUSE_MS);
  };
  const onInput = () => {
    const field = input.current;
    if (!field) return;
    apply(field.value, false);
    setOffer(offersAt(field.value, field.selectionStart ?? 0, names, values)?.offers ?? []);
    setPicked(0);
  };
  const take = (name: string) => {
    const field = input.current;
    const word = field && offersAt(field.value, field.selectionStart ?? 0, names, values)?.word;
    if (!word) return;
    const quoted = `${name} `;
    const next = text.slice(0, word.start) + quoted + text.slice(word.end).trimStart();
    // Now, not with the next frame: the following key must land behind the name.
    field.value = next;
    field.focus();
    field.setSelectionRange(word.start + quoted.length, word.start + quoted.length);
    apply(next, false);
    setOffer([]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const chosen = offer[picked];
    if (event.key === 'Escape') {
      if (offer.length > 0) setOffer([]);
      else input.current?.blur();
    } else if (chosen && (event.key === 'Tab' || event.key === 'Enter')) {
      event.preventDefault();
      take(chosen);
    } else if (event.key === 'Enter') apply(text, true);
    else if (offer.length > 0 && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      event.preventDefault();
      const by = event.key === 'ArrowDown' ? 1 : offer.length - 1;
      setPicked((picked + by) % offer.length);
    }
  };
  return (
    <div class="filter">
      <Icon name="search" />
      <input
        ref={input}
        id="filter"
        class="field mono"
        type="text"
        spellcheck={false}
        autocomplete="off"
        role="combobox"
        aria-label="Filter runs"
        aria-expanded={offer.length > 0}
        aria-controls="filter-offer"
        aria-invalid={error !== undefined}
        aria-describedby="filter-error"
        placeholder={EXAMPLE}
        value={text}
        onInput={onInput}
        onKeyDown={onKeyDown}
        onBlur={() => setTimeout(() => setOffer([]), 150)}
      />
      {offer.length > 0 && (
        <ul id="filter-offer" class="offer" role="listbox">
          {offer.map((name, i) => (
            <li
              key={name}
              role="option"
              aria-selected={i === picked}
              onPointerDown={(event) => {
                event.preventDefault();
                take(name);
              }}
            >
              {name}
            </li>
          ))}
        </ul>
      )}
      {(error || warnings.length > 0) && (
        <p id="filter-error" class={error ? 'problem' : 'problem mild'} role="alert">
          {error ? [error.message, error.hint].filter(Boolean).join(' ') : warnings.join(' ')}
        </p>
      )}
    </div>
  );
}

function fieldValues(fields: Fields | undefined): Map<string, readonly string[]> {
  return new Map<string, readonly string[]>([['state', RUN_STATES], ...(fields?.values ?? [])]);
}

function fieldNames(fields: Fields | undefined): string[] {
  if (!fields) return FACTS;
  return [
    ...FACTS,
    ...fields.summary,
    ...fields.config.map((key) => `config.${key}`),
    ...fields.labels.map((name) => `label.${name}`),
    'and',
    'or',
    'not',
  ];
}
