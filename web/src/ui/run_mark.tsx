import { colourOf } from '../lib/colours';
import { isDark } from '../lib/theme';

/** A dot in the run's colour: the one of its lines in charts. */
export function RunMark({ id }: { id: string }) {
  return <i class="run-mark" style={{ background: colourOf(id, isDark.value) }} />;
}
