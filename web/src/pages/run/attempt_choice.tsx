export const EACH = 'each';

interface Props {
  count: number;
  value: string; // '': the curve as it counts, a number, or EACH
  onPick: (value: string) => void;
}

/** A resumed run replaces what it logs again; the older attempts are still there to look at. */
export function AttemptChoice({ count, value, onPick }: Props) {
  return (
    <label class="pair">
      attempt
      <select
        class="field"
        aria-label="Which attempt"
        value={value}
        onChange={(event) => onPick(event.currentTarget.value)}
      >
        <option value="">as it counts</option>
        <option value={EACH}>each one</option>
        {Array.from({ length: count }, (_, i) => (
          <option key={i} value={String(count - i)}>
            only {count - i}
          </option>
        ))}
      </select>
    </label>
  );
}
