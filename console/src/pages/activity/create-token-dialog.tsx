import { type FormEvent, useState } from 'react';
import type { CreatedToken, CreateToken, Role } from '../../../../telltale/src/client/api.ts';
import { useCall } from '../../data/use-call.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { Field } from '../../ui/field.tsx';
import { NewTokenSecret } from './new-token-secret.tsx';

const ROLES: readonly (readonly [Role, string])[] = [
  ['read', 'read: looks at everything, changes nothing'],
  ['run', 'run: also starts, steers, cancels and answers reviews'],
  ['admin', 'admin: also changes artifacts, manifests and tokens'],
];

export interface CreateTokenDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onMade: () => void;
}

/** Makes a token, and shows it this once. */
export function CreateTokenDialog({ open, onClose, onMade }: CreateTokenDialogProps) {
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('run');
  const [made, setMade] = useState<CreatedToken>();
  const create = useCall((client, options, token: CreateToken) => client.createToken(token, options));
  const close = () => {
    setMade(undefined);
    setName('');
    create.forget();
    onClose();
  };
  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    if (name.trim() === '') return;
    const token = await create.run({ name: name.trim(), role });
    if (token === undefined) return;
    setMade(token);
    onMade();
  };
  if (made !== undefined)
    return (
      <Dialog
        title={`Token “${made.name}”`}
        open={open}
        onClose={close}
        footer={<Button onClick={close}>I have kept it</Button>}
      >
        <NewTokenSecret token={made} />
      </Dialog>
    );
  return (
    <Dialog
      title="New token"
      open={open}
      onClose={close}
      footer={
        <Button
          kind="primary"
          icon="key"
          busy={create.busy}
          blocked={name.trim() === '' ? 'Name it first.' : undefined}
          onClick={() => void submit()}
        >
          Make it
        </Button>
      }
    >
      <form onSubmit={(event) => void submit(event)} className="flex flex-col gap-4">
        <Field label="Name" hint="Who or what it is for; the audit names it.">
          {(tie) => (
            <input
              {...tie}
              value={name}
              autoComplete="off"
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label="Role">
          {(tie) => (
            <select {...tie} value={role} onChange={(event) => setRole(event.target.value as Role)}>
              {ROLES.map(([one, words]) => (
                <option key={one} value={one}>
                  {words}
                </option>
              ))}
            </select>
          )}
        </Field>
        {create.error === undefined ? null : (
          <ErrorState title="The token was not made." error={create.error} />
        )}
      </form>
    </Dialog>
  );
}
