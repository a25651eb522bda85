import { mayAdmin, me } from '../../lib/session';
import { linkTo } from '../../lib/router';
import { Empty } from '../../ui/empty';
import { Tabs } from '../../ui/tabs';
import { Tokens } from '../access/tokens';
import { Audit } from './audit';
import { Users } from './users';

const TABS = ['users', 'tokens', 'audit'];

/** Who may come in, what lets programs in, and who did what. */
export function AdminPage({ tab }: { tab: string }) {
  if (!me.value) return null;
  if (!mayAdmin.value) {
    return (
      <Empty title="Only for admins" {...(me.value.auth ? {} : { command: 'kedge server --auth' })}>
        <p>
          {me.value.auth
            ? `${me.value.user} may not manage users. An admin can change that.`
            : 'This server asks nobody to log in, so that there is nobody to manage. It has users, roles, tokens and an audit trail when it is started with:'}
        </p>
      </Empty>
    );
  }
  return (
    <div class="run-page">
      <div class="run-head">
        <h1>Administration</h1>
      </div>
      <Tabs
        label="Parts of the administration"
        current={tab}
        tabs={TABS.map((name) => ({ name, href: linkTo(['admin', name]) }))}
      />
      <div class="run-body scroll">
        <div class="leaf">
          {tab === 'users' && <Users />}
          {tab === 'tokens' && <Tokens isOfAll />}
          {tab === 'audit' && <Audit />}
        </div>
      </div>
    </div>
  );
}
