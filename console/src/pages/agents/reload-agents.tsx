import { useBlocked } from '../../data/use-blocked.ts';
import { useCall } from '../../data/use-call.ts';
import { useData } from '../../data/use-data.ts';
import { Button } from '../../ui/button.tsx';

export function ReloadAgents({ onDone }: { readonly onDone?: () => void }) {
  const { agents, toasts } = useData();
  const blocked = useBlocked('admin');
  const reload = useCall(async () => {
    try {
      await agents.reload();
      toasts.say('done', 'The manifests were reloaded.');
    } catch (thrown) {
      toasts.say('failed', thrown instanceof Error ? thrown.message : String(thrown));
      throw thrown;
    }
    onDone?.();
  });
  return (
    <Button icon="refresh" busy={reload.busy} blocked={blocked} onClick={() => void reload.run()}>
      Reload manifests
    </Button>
  );
}
