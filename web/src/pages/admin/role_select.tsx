import type { Role } from '../../api/access';

const ROLES: Record<Role, string> = {
  view: 'view: look',
  write: 'write: log, change, delete',
  admin: 'admin: and manage users',
};

interface Props {
  value: Role;
  label: string;
  name?: string; // in a form
  isFixed?: boolean;
  onPick?: (role: Role) => void;
}

export function RoleSelect({ value, label, name, isFixed = false, onPick }: Props) {
  return (
    <select
      class="field"
      aria-label={label}
      name={name}
      disabled={isFixed}
      {...(onPick ? { value } : {})} // in a form the reader's choice stays
      onChange={(event) => onPick?.(event.currentTarget.value as Role)}
    >
      {Object.entries(ROLES).map(([role, text]) => (
        <option key={role} value={role} selected={role === value}>
          {text}
        </option>
      ))}
    </select>
  );
}
