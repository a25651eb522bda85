// Who looks at the page and what they may do, for everything that offers a change.
import { computed, effect, signal } from '@preact/signals';
import { loadMe } from '../api/access';
import type { Me } from '../api/access';
import { isShared, loginNeeded, reachable } from '../api/client';

export const me = signal<Me | undefined>(undefined);

export const mayWrite = computed(
  () => !isShared && me.value !== undefined && me.value.role !== 'view',
);

/** Users, tokens of others and the audit trail exist only where people log in. */
export const mayAdmin = computed(() => me.value?.auth === true && me.value.role === 'admin');

/** Asks again after a login, and when a server that was away is back. */
export function followSession(): () => void {
  return effect(() => {
    if (loginNeeded.value || !reachable.value) return;
    loadMe().then(
      (answer) => {
        me.value = answer;
      },
      () => undefined, // 401 shows the form, an absent server the banner
    );
  });
}
