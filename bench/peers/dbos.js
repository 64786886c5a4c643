import { DBOS } from '@dbos-inc/dbos-sdk';

export const contestant = {
  async open({ steps, postgres }) {
    let ran = 0;
    const workflow = DBOS.registerWorkflow(
      async (n) => {
        for (let at = 1; at <= steps; at += 1)
          await DBOS.runStep(
            async () => {
              ran += 1;
              return { n };
            },
            { name: `step_${at}` },
          );
        return { n };
      },
      { name: 'bench' },
    );
    DBOS.setConfig({
      name: 'bench',
      systemDatabaseUrl: postgres,
      systemDatabasePoolSize: 20,
      logLevel: 'error',
    });
    await DBOS.launch();
    return {
      async run(n) {
        const handle = await DBOS.startWorkflow(workflow)(n);
        await handle.getResult();
      },
      ran: () => ran,
      close: () => DBOS.shutdown(),
    };
  },
};
