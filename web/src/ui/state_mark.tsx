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
      return <path d="m2.5 6.3 2.4 2.4L9.7 3.5" {...line} stroke-linecap="round" />;
    case 'failed':
      return <path d="m3 3 6 6m0-6L3 9" {...line} stroke-linecap="round" />;
    case 'crashed':
      return <path d="M6 1.8 11 10.3H1zM6 5v2.4M6 8.8v.1" {...line} stroke-width={1.3} />;
    case 'preempted':
      return <path d="M4.2 2.8v6.4M7.8 2.8v6.4" {...line} stroke-linecap="round" />;
    case 'stopped':
      return <rect x="3" y="3" width="6" height="6" fill="currentColor" />;
    case 'pending':
      return <circle cx="6" cy="6" r="4" {...line} stroke-dasharray="2 2" />;
    default:
      return <circle cx="6" cy="6" r="3" {...line} />;
  }
}
