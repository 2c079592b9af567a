# The daemon in an image: docker build -t mailboxd . && docker run -v /etc/mailboxd:/etc/mailboxd:ro -v mailboxd:/var/lib/mailboxd \
#   -p 25:25 -p 127.0.0.1:8025:8025 mailboxd
# In its configuration, http.listen must name an address that the container's network reaches, such as "0.0.0.0:8025".
FROM debian:12-slim AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/mailboxd
COPY package.json package-lock.json .npmrc ./
COPY bin bin
RUN npm ci
COPY . .
RUN npm run build && npm prune --omit=dev && rm -rf node_modules/node-*/include

FROM debian:12-slim
RUN useradd --system --home-dir /var/lib/mailboxd --create-home mailboxd
COPY --from=build /opt/mailboxd /opt/mailboxd
RUN ln -s /opt/mailboxd/bin/mailboxd /opt/mailboxd/bin/mailboxctl /usr/bin/
USER mailboxd
VOLUME /var/lib/mailboxd
# 80: the questions of a CA (ACME), where that is on.
EXPOSE 25 80 8025
STOPSIGNAL SIGTERM
ENTRYPOINT ["mailboxd", "--config", "/etc/mailboxd/mailboxd.toml"]
