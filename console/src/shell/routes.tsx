import { lazy, Suspense } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { SessionsPage } from '../pages/sessions/sessions-page.tsx';
import { StartPage } from '../pages/start/start-page.tsx';
import { Loading } from '../ui/loading.tsx';
import { NotFoundPage } from './not-found-page.tsx';

// Pages other than the first one are loaded when they are opened.
const SessionPage = lazy(async () => ({
  default: (await import('../pages/session/session-page.tsx')).SessionPage,
}));
const ReviewsPage = lazy(async () => ({
  default: (await import('../pages/reviews/reviews-page.tsx')).ReviewsPage,
}));
const AgentsPage = lazy(async () => ({
  default: (await import('../pages/agents/agents-page.tsx')).AgentsPage,
}));
const AgentPage = lazy(async () => ({
  default: (await import('../pages/agents/agent-page.tsx')).AgentPage,
}));
const WorkflowsPage = lazy(async () => ({
  default: (await import('../pages/workflows/workflows-page.tsx')).WorkflowsPage,
}));
const WorkflowPage = lazy(async () => ({
  default: (await import('../pages/workflows/workflow-page.tsx')).WorkflowPage,
}));
const RunPage = lazy(async () => ({ default: (await import('../pages/runs/run-page.tsx')).RunPage }));
const ArtifactsPage = lazy(async () => ({
  default: (await import('../pages/artifacts/artifacts-page.tsx')).ArtifactsPage,
}));
const ArtifactPage = lazy(async () => ({
  default: (await import('../pages/artifacts/artifact-page.tsx')).ArtifactPage,
}));
const MemoryPage = lazy(async () => ({
  default: (await import('../pages/memory/memory-page.tsx')).MemoryPage,
}));
const ActivityPage = lazy(async () => ({
  default: (await import('../pages/activity/activity-page.tsx')).ActivityPage,
}));

/** The pages by the path after `#`. */
export const Routes = () => (
  <Suspense fallback={<Loading label="Fetching the page" className="p-6" />}>
    <Switch>
      <Route path="/">
        <Redirect to="/sessions" replace />
      </Route>
      <Route path="/sessions" component={SessionsPage} />
      <Route path="/sessions/:id">{({ id }) => <SessionPage key={id} id={id} />}</Route>
      <Route path="/start/:agent?">{({ agent }) => <StartPage agent={agent} />}</Route>
      <Route path="/workflows" component={WorkflowsPage} />
      <Route path="/workflows/:agent/:name">
        {({ agent, name }) => <WorkflowPage key={`${agent}/${name}`} agent={agent} name={name} />}
      </Route>
      <Route path="/runs/:id">{({ id }) => <RunPage key={id} id={id} />}</Route>
      <Route path="/reviews/:review?">{({ review }) => <ReviewsPage review={review} />}</Route>
      <Route path="/artifacts" component={ArtifactsPage} />
      <Route path="/artifacts/:name">{({ name }) => <ArtifactPage key={name} name={name} />}</Route>
      <Route path="/memory" component={MemoryPage} />
      <Route path="/agents" component={AgentsPage} />
      <Route path="/agents/:name">{({ name }) => <AgentPage key={name} name={name} />}</Route>
      <Route path="/activity" component={ActivityPage} />
      <Route component={NotFoundPage} />
    </Switch>
  </Suspense>
);
