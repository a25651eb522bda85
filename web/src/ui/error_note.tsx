import type { ApiError } from '../api/client';

/** What went wrong, what to do, and a way to try again. */
export function ErrorNote({ error, onRetry }: { error: ApiError; onRetry?: () => void }) {
  return (
    <div class="empty" role="alert">
      <h2>{error.status === 404 ? 'Nothing here' : 'That did not work'}</h2>
      <p>{error.message}</p>
      {error.hint && <p class="muted">{error.hint}</p>}
      {onRetry && (
        <button type="button" class="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
