import type { ArtifactInfo } from '../../../../telltale/src/client/api.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorState } from '../../ui/error-state.tsx';

export interface RollbackDialogProps {
  readonly artifact: ArtifactInfo;
  readonly newest: number;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onDone: (version: number) => void;
}

/** Who rolls back changes what every run decides from then on: it is asked twice. */
export function RollbackDialog({ artifact, newest, open, onClose, onDone }: RollbackDialogProps) {
  const { toasts } = useData();
  const { name, version } = artifact;
  const back = useCall((client, options, to: number) => client.rollbackArtifact(name, to, options));
  const onBack = async () => {
    const made = await back.run(version);
    if (made === undefined) return;
    toasts.say('done', `Version ${made.version} of ${name} has the source of version ${version}.`);
    onClose();
    onDone(made.version);
  };
  return (
    <Dialog
      title={`Roll back to version ${version}?`}
      open={open}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" icon="history" busy={back.busy} onClick={() => void onBack()}>
            Roll back
          </Button>
        </>
      }
    >
      <p className="text-ink-soft">
        Version {newest + 1} is created with the source of version {version}. It applies at once, also to runs
        in progress. Version {newest} stays in the list.
      </p>
      {back.error === undefined ? null : (
        <div className="mt-3">
          <ErrorState title="The artifact was not rolled back." error={back.error} />
        </div>
      )}
    </Dialog>
  );
}
