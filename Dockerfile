# The daemon in an image, from the same bundle as the Debian package: docker build -t mailboxd .
# compose.yaml runs it. In its configuration http.listen must name an address that the container's network reaches: "0.0.0.0:8025".
FROM debian:12-slim AS build
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm binutils libatomic1 ca-certificates
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY bin/node bin/node
RUN npm ci
COPY . .
# Not compressed: it is unpacked in the next line.
RUN DPKG_DEB_COMPRESSOR_TYPE=none npm run --silent package -- "$(dpkg --print-architecture)" && dpkg-deb -x packages/*.deb /image

FROM debian:12-slim
# Node needs libatomic1, which the slim image has not; ca-certificates to verify the servers of others.
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libatomic1 libstdc++6 ca-certificates \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --uid 900 --home-dir /var/lib/mailboxd --shell /usr/sbin/nologin mailboxd \
  && install -d -o mailboxd -g mailboxd -m 700 /var/lib/mailboxd
COPY --from=build /image/usr/lib/mailboxd /usr/lib/mailboxd
COPY --from=build /image/usr/bin /usr/bin
COPY --from=build /image/usr/share/doc/mailboxd /usr/share/doc/mailboxd
USER mailboxd
# Mail, keys and certificates: all that is to be kept and backed up.
VOLUME /var/lib/mailboxd
# 80: the questions of a CA (ACME), where that is on.
EXPOSE 25 80 8025
STOPSIGNAL SIGTERM
# It asks as a client would, and a full disk or a broken database is an answer, too.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["/usr/lib/mailboxd/bin/node", "-e", "fetch('http://127.0.0.1:8025/health').then(answer => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["mailboxd"]
CMD ["--config", "/etc/mailboxd/mailboxd.toml"]
