# sluice with its own Redis server: `docker build -t sluice .`, then see docs/how-to/docker.md.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY scripts scripts
COPY src src
COPY jobs jobs
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM node:24-bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends redis-server \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /app/package.json /app/package.json
COPY --from=build /app/node_modules /app/node_modules
COPY --from=build /app/dist /app/dist
COPY --from=build /app/jobs /app/jobs
COPY bin/sluice.cjs /app/bin/sluice.cjs
COPY config/config.schema.json config/manifest.schema.json /app/config/
RUN ln -s /app/bin/sluice.cjs /usr/local/bin/sluice

# Settings, manifests and state stand in three folders, so that each can be mounted by itself.
WORKDIR /srv/sluice
COPY config/docker.yaml config/sluice.yaml
COPY jobs/inbox.yaml jobs/inbox.yaml
RUN mkdir -p state jobs/inbox && chown -R node:node .
USER node
ENV NODE_ENV=production
VOLUME /srv/sluice/state
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch(fs.readFileSync('state/health.address', 'utf8').trim()).then((reply) => process.exit(reply.ok ? 0 : 1), () => process.exit(1))"]
STOPSIGNAL SIGTERM
CMD ["sluice", "start", "--state", "state"]
