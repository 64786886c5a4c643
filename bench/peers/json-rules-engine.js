import { Engine } from 'json-rules-engine';

/** Rules whose conditions must all hold; `run` resolves with the places of those that do. */
export function openEngine(rules) {
  const engine = new Engine();
  for (const [place, all] of rules.entries())
    engine.addRule({ conditions: { all }, event: { type: 'holds', params: { place } } });
  return {
    async run(facts) {
      const { events } = await engine.run(facts);
      return events.map(({ params }) => params.place);
    },
  };
}
