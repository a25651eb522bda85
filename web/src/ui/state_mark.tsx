import type { RunState } from '../api/types';

/** A shape for each state, so that colour is not the only difference. */
export function StateMark({ state, word = false }: { state: string; word?: boolean }) {
  return (
    <span class={`state state-${state}`} title={state}>
      <svg width="12" height="12" viewBox="0 0 12 12" role="img" aria-label={state}>
        {shapeOf(state as RunState)}
      </svg>
      {word && <span class="word">{state}</span>}
    </span>
  );
}

function shapeOf(state: RunState) {
  const line = { fill: 'none', stroke: 'currentColor', 'stroke-width': 1.6 };
  switch (state) {
    case 'running':
      return (
        <>
          <circle class="pulse" cx="6" cy="6" r="5" fill="currentColor" opacity="0.35" />
          <circle cx="6" cy="6" r="3" fill="currentColor" />
        </>
      );
    case 'finished':
      return <path d="m2.500 6.300 2.400 2.400L9.700 3.500" {...line} stroke-linecap="round" />;
    case 'failed':
      return <path d="m3 3 6 6m0-6L3 9" {...line} stroke-linecap="round" />;
    case 'crashed':
      return <path d="M6 1.800 11 10.300H1zM6 5v2.400M6 8.800v.1" {...line} stroke-width={1.3} />;
    case 'preempted':
      return <path d="M4.200 2.800v6.400M7.800 2.800v6.400" {...line} stroke-linecap="round" />;
    default:
      return <circle cx="6" cy="6" r="3" {...line} />;
  }
}
