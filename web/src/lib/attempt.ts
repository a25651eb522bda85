import { say } from '../ui/toast';
import { toApiError } from './resource';

/** Does something that may be refused; says how it went, and whether it went well. */
export async function attempt(work: () => Promise<unknown>, done = ''): Promise<boolean> {
  try {
    await work();
    if (done) say(done);
    return true;
  } catch (cause) {
    const { message, hint } = toApiError(cause);
    say([message, hint].filter(Boolean).join(' '));
    return false;
  }
}
